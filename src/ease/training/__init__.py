"""Training: one loop for every method, on one or several devices, with exact resume."""
