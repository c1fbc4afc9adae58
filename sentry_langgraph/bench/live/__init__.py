"""`sentry bench live`: a real model on tasks that can be checked."""
