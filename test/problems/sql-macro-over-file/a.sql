SELECT *
FROM load_text('{{{params.x}}}')
