"""Maps of (b c h w) onto itself, at any height and width."""
