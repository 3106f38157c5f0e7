"""Everything for a cluster without a way to the internet: the image tool with the images, and the charts."""
