"""The catalog in Delta tables. Changes are decided on an in-memory replica, and committed by a conditional MERGE."""
