extension Array {
    /// Hands each element over, first to last, and leaves none behind, but the room for as many. What is only looked at in an
    /// array is copied for it, with a retain for each reference that it has; what is handed over is moved.
    mutating func drain(_ body: (consuming Element) -> Void) {
        reverse()
        while let element = popLast() { body(element) }
    }
}
