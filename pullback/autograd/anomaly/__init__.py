"""Anomaly detection: the lines of the forward behind an error of backward, and where the first NaN comes from."""
