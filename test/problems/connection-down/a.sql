SELECT * FROM far.t
