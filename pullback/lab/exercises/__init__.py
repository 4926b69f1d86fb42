"""The exercises, one file each; `pullback.lab.course` has their order and says what an exercise is."""
