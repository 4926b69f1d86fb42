"""Layer 9: functions as programs: what they read is watched, so that no program is run that is stale."""
