public enum PlaceholderTS {}
