"""What Sentry costs: `sentry bench`."""
