import CQRencode
import CommandInterface
import Glibc

/// A QR code as modules, dark or light. ISO/IEC 18004.
struct QRCode: Equatable {
    /// Of the widest that there is, version 40.
    static let widthMaximum = 177
    /// Light modules that a reader wants on each side.
    static let quietModules = 4

    let width: Int
    /// Row by row; true for a dark one.
    private let modules: [Bool]

    /// nil unless there are as many as a square has.
    init?(width: Int, modules: [Bool]) {
        guard modules.count == width * width else { return nil }
        self.width = width
        self.modules = modules
    }

    /// Draws a text, by libqrencode.
    ///
    /// - Throws: ``Failure``: the library is not installed, or the text is too long.
    init(drawing text: String) throws(Failure) {
        var octets = [UInt8](repeating: 0, count: Self.widthMaximum * Self.widthMaximum)
        let width = latch_qr_draw(text, &octets, octets.count)
        guard width > 0 else {
            guard errno == ENOSYS else {
                throw Failure(.refused, "no QR code can be drawn: \(String(cString: strerror(errno)))")
            }
            throw Failure(
                .refused,
                "a QR code needs libqrencode.so.4: install the package libqrencode4, or go by the code's text (without --qr "
                    + "and --svg)")
        }
        self.width = Int(width)
        modules = octets.prefix(self.width * self.width).map { $0 == 1 }
    }

    /// Light outside.
    func isDark(_ column: Int, _ row: Int) -> Bool {
        guard (0..<width).contains(column), (0..<width).contains(row) else { return false }
        return modules[row * width + column]
    }

    /// For a terminal, two rows of modules to a line. Readers want dark on light: the light modules are drawn, in white on black where the
    /// terminal takes colours.
    func lines(inColour: Bool) -> [String] {
        let range = -Self.quietModules..<width + Self.quietModules
        return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            let line = range.map { column -> Character in
                // What is below the last row is no part of the code.
                switch (isDark(column, row), row + 1 == range.upperBound || isDark(column, row + 1)) {
                case (false, false): "█"
                case (false, true): "▀"
                case (true, false): "▄"
                case (true, true): " "
                }
            }
            return inColour ? "\u{1B}[97;40m\(String(line))\u{1B}[0m" : String(line)
        }
    }

    /// A picture: a millimetre to a module, dark runs as rectangles of one path.
    var svg: String {
        let side = width + 2 * Self.quietModules
        var path = ""
        for row in 0..<width {
            var column = 0
            while column < width {
                let run = (column..<width).prefix { isDark($0, row) }.count
                if run > 0 { path += "M\(column + Self.quietModules) \(row + Self.quietModules)h\(run)v1h-\(run)z" }
                column += max(run, 1)
            }
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(side)mm" height="\(side)mm" viewBox="0 0 \(side) \(side)" \
            shape-rendering="crispEdges">
            <rect width="\(side)" height="\(side)" fill="#fff"/>
            <path d="\(path)" fill="#000"/>
            </svg>
            """
    }
}
