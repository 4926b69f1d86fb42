"""The engine: runs a graph backward, from the outputs of a function to its inputs. Begin with `execution`."""
