"""Train small encoders to reproduce a large one, and score them."""
