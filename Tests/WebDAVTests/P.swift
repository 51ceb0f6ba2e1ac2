import Testing

@Test func placeholderWebDAV() {}
