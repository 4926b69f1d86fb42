"""Programs in machine code: values and loops, a small language for loops, and two renderers of it."""
