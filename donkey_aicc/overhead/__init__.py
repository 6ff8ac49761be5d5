"""Labels for a real car from a camera above the track: video and setup file in, cross-track error per tub record out."""
