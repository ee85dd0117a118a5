SELECT '{{{params.q}}}' AS q
