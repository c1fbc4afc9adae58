"""How well failures are detected on recorded runs: `sentry bench detect`."""
