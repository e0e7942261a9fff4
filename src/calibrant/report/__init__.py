"""The audit: one call, every answer; its terminal page, its diagram and its HTML page."""
