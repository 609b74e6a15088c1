"""Deciders: the ones that compute, the scripted one, and models behind the Messages API.

A decision by a model flows prompt -> decider -> client -> anthropic, and back through parse.
"""
