"""Networks: tensor in, tensor out, nothing else."""
