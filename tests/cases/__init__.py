"""Public bug reports as test inputs, run through one harness."""
