"""Read the SQL that manifests may contain: the SELECT of a view, and the admin statements of a hook."""
