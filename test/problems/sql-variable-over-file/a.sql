SET VARIABLE f = '{{{params.x}}}';
SELECT content FROM read_text(getvariable('f'))
