"""Manifests: read, checked, merged by id, frozen, edited and described."""
