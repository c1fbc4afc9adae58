"""`sentry demo`: recorded failures re-enacted, and a scripted agent that recovers.

Needs no key and no network, and writes only into the directory that it names.
"""
