"""Layer 1: tensors, modes, levels, array types, errors. No graph and no mathematics here."""
