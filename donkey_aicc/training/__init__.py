"""Training: sequences -> weights. One shared loop, one file per net."""
