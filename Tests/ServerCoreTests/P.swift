import Testing

@Test func placeholderServerCore() {}
