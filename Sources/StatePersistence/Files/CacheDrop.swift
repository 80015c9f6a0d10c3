import CLinux
import Glibc

/// Has a file read from its medium from now on: the cache gives up the pages that it takes for clean. The octets stay what they
/// are, but for those that no medium has taken although the cache shows them. Dirty pages stay: the next flush writes them, and
/// tells whether it could.
///
/// Opens and closes the file: only while this process has no other descriptor of it, or SQLite's locks go with it.
enum CacheDrop {
    /// Whether what readers get is what the medium has.
    enum Verdict {
        case proven
        /// The cache keeps pages, and the file system has no way around it; or nobody says what it keeps.
        case unproven
    }

    /// Tells the cache. That is advice: it keeps pages that are dirty, and those that another program has mapped.
    static func advise(_ path: String) throws(StoreError) { drop(try StateFile.open(path, O_RDONLY)) }

    /// The same, and looks whether it has. What it keeps is written, if it was dirty, and compared with the medium.
    ///
    /// - Throws: ``StoreError/io(path:reason:)`` when the cache shows something else than the medium has: what rests on
    /// such a page is lost with the next power cut, and writing it again would not help.
    static func prove(_ path: String) throws(StoreError) -> Verdict {
        let file = try StateFile.open(path, O_RDONLY)
        drop(file)
        let octets = try StateFile.size(path) ?? 0
        guard let cached = cachedPages(file, octets) else { return .unproven }
        if cached.isEmpty { return .proven }
        guard fdatasync(file.fd) == 0 else { throw StateFile.error(path) }
        drop(file)
        guard let kept = cachedPages(file, octets) else { return .unproven }
        return kept.isEmpty ? .proven : try compare(kept, of: file, path)
    }

    private static func drop(_ file: borrowing Descriptor) { _ = posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED) }

    private static let pageOctets = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// The numbers of the pages that the cache has; nil where this process may not ask.
    private static func cachedPages(_ file: borrowing Descriptor, _ octets: Int) -> [Int]? {
        let count = (octets + pageOctets - 1) / pageOctets
        guard count > 0 else { return [] }
        var pages = [UInt8](repeating: 0, count: count)
        guard latch_cached_pages(file.fd, octets, &pages) == 0 else { return nil }
        return pages.indices.filter { pages[$0] & 1 == 1 }
    }

    private static func compare(_ pages: [Int], of file: borrowing Descriptor, _ path: String) throws(StoreError)
        -> Verdict
    {
        let descriptor = latch_open_direct(path)
        guard descriptor >= 0 else { return .unproven }
        let medium = Descriptor(fd: descriptor)
        // Reads around the cache go to memory that is aligned as pages are.
        let shown = UnsafeMutableRawPointer.allocate(byteCount: pageOctets, alignment: pageOctets)
        let had = UnsafeMutableRawPointer.allocate(byteCount: pageOctets, alignment: pageOctets)
        defer {
            shown.deallocate()
            had.deallocate()
        }
        for page in pages {
            let offset = off_t(page * pageOctets)
            let hadCount = pread(medium.fd, had, pageOctets, offset)
            if hadCount < 0, errno == EINVAL { return .unproven }
            let shownCount = hadCount < 0 ? -1 : pread(file.fd, shown, pageOctets, offset)
            guard shownCount >= 0 else { throw StateFile.error(path) }
            guard shownCount == hadCount, memcmp(shown, had, shownCount) == 0 else {
                throw .io(
                    path: path,
                    reason:
                        "the cache shows what the medium does not have, because a flush failed while another program "
                        + "mapped the file; end that program (fuser \(path))")
            }
        }
        return .proven
    }
}
