SELECT 1 {{#if params.x}}, 2{{else}}, 3{{/if params.x}}
