"""Run hooks beside a landing: SQL, functions, webhooks and view refreshes."""
