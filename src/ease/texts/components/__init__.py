"""Parts that kinds of training texts share: options, file readers, NLI forms and mixtures."""
