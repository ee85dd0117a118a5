SELECT 'café'
