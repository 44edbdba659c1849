"""Systems without a language model that rank sentences, one a file."""
