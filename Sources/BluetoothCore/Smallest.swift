extension Sequence where Element: Comparable {
    /// The `count` smallest elements in their order: a page of many, without sorting all of them.
    package func smallest(_ count: Int) -> [Element] {
        guard count > 0 else { return [] }
        var page: [Element] = []
        for element in self {
            if page.count == count {
                guard let last = page.last, element < last else { continue }
                page.removeLast()
            }
            page.insert(element, at: Self.place(of: element, in: page))
        }
        return page
    }

    /// The first index whose element is not smaller.
    private static func place(of element: Element, in page: [Element]) -> Int {
        var range = 0..<page.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = page[middle] < element ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
