// This room is furnished next.
