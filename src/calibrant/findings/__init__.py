"""Findings: one call, every answer; what is shown of them is in report/."""
