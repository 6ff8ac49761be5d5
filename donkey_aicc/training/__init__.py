"""Training: sequences -> weights. One shared loop; a file for the nets that look at frames, one for the dynamics."""
