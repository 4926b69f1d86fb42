"""Anomaly detection, where PyTorch keeps it."""

from pullback.autograd.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
