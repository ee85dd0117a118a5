CALL enable_logging()
