"""Anomaly detection under PyTorch's module name, `autograd.anomaly_mode`."""

from pullback.autograd.anomaly.detection import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
