@main
struct Latch {
    static func main() {}
}
