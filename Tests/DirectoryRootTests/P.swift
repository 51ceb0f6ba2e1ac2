import Testing

@Test func placeholderDirectoryRoot() {}
