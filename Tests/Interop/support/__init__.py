"""What every suite stands on: processes that are waited for by what they say, and steps that are told with a figure."""
