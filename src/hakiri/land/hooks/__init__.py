"""A hook runs beside a landing, within its limits, and says what came of it."""
