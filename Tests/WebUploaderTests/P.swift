import Testing

@Test func placeholderWebUploader() {}
