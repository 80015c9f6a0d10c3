/// Databases as past versions left them.
enum HostFixture {
    static let all = [schema1, schema2, schema3, schema4, schema5]
}
