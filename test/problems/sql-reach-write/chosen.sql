{{{params.verb}}} t
