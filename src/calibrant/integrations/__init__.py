"""Exact calibration errors inside other libraries; each module needs its own, which calibrant does not bring."""
