// The checks of a drawn page, in the browser's own language.

/// Expressions that return a list of faults, each as a line of text.
enum PageAudit {
    /// Letters too small, letters too pale for their background (WCAG: 4.5 to 1), boxes and labels over each other,
    /// labels cut off, and a page wider than its window.
    static let faults = """
        (() => {
          const faults = new Set();
          const parse = text => {
            const match = /rgba?\\(([^)]+)\\)/.exec(text);
            if (!match) return null;
            const parts = match[1].split(/[ ,/]+/).map(Number);
            return parts.length > 3 && parts[3] === 0 ? null : parts;
          };
          const light = ([r, g, b]) => [r, g, b].map(value => value / 255)
            .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
            .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
          const contrast = (one, other) => {
            const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05);
          };
          const isSVG = element => element.namespaceURI === 'http://www.w3.org/2000/svg';
          const paper = element => {
            for (let above = element; above; above = above.parentElement) {
              if (isSVG(above)) continue;
              const colour = parse(getComputedStyle(above).backgroundColor);
              if (colour) return colour;
            }
            return [255, 255, 255];
          };
          const rects = [...document.querySelectorAll('rect')]
            .map(rect => ({rect, box: rect.getBoundingClientRect(), fill: parse(getComputedStyle(rect).fill)}));
          const under = element => {
            const box = element.getBoundingClientRect();
            const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
            let found = null;
            for (const {rect, box, fill} of rects) {
              const isBefore = rect.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
              if (fill && isBefore && box.left <= x && x <= box.right && box.top <= y && y <= box.bottom) found = fill;
            }
            return found ?? paper(element);
          };
          const root = document.body ?? document.documentElement;
          const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const element = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || ['style', 'title', 'desc', 'STYLE'].includes(element.tagName)) continue;
            if (!element.checkVisibility() || element.getClientRects().length === 0) continue;
            const style = getComputedStyle(element);
            const words = walker.currentNode.data.trim().slice(0, 30);
            if (parseFloat(style.fontSize) < 11.5) faults.add(`small (${style.fontSize}): ${words}`);
            const isText = isSVG(element);
            const ink = parse(isText ? style.fill : style.color) ?? [0, 0, 0];
            const ratio = contrast(ink, isText ? under(element) : paper(element));
            if (ratio < 4.5) faults.add(`pale (${ratio.toFixed(1)}): ${words}`);
          }
          const boxes = [...document.querySelectorAll('rect.box, rect.fold')].map(rect => rect.getBoundingClientRect());
          boxes.forEach((one, index) => boxes.slice(0, index).forEach(other => {
            const apart = one.right <= other.left || other.right <= one.left
              || one.bottom <= other.top || other.bottom <= one.top;
            if (!apart) faults.add(`boxes over each other at ${one.left} ${one.top}`);
          }));
          for (const text of document.querySelectorAll('svg svg text')) {
            const room = text.parentElement.width.baseVal.value;
            const isPlain = /^[ -~…]*$/.test(text.textContent);
            if (isPlain && text.getBBox().width > room + 1) faults.add(`cut off: ${text.textContent.slice(0, 40)}`);
          }
          const scroller = document.scrollingElement;
          if (document.body && scroller.scrollWidth > scroller.clientWidth + 1) {
            faults.add(`wider than its window: ${scroller.scrollWidth} over ${scroller.clientWidth}`);
          }
          if (document.querySelector('parsererror')) faults.add('not well formed');
          for (const name of ['script', 'img', 'iframe', 'object', 'embed', 'link', 'a']) {
            if (document.querySelector(name)) faults.add(`an element ${name}`);
          }
          if (document.body) {
            const levels = [...document.querySelectorAll('h1, h2, h3')].map(head => Number(head.tagName[1]));
            if (levels[0] !== 1 || levels.filter(level => level === 1).length !== 1) faults.add('not one first heading');
            for (const table of document.querySelectorAll('table')) {
              if (!table.caption) faults.add('a table without caption');
              if (table.querySelector('th:not([scope])')) faults.add('a heading of a table without scope');
            }
            for (const picture of document.querySelectorAll('svg')) {
              const isNamed = picture.getAttribute('aria-label') || picture.closest('svg svg');
              if (!isNamed && picture.getAttribute('aria-hidden') !== 'true') faults.add('a picture without words');
            }
          }
          return [...faults].slice(0, 40);
        })()
        """

    static let text = "document.documentElement.textContent"
    static let height = """
        Math.ceil(Math.max(document.documentElement.getBoundingClientRect().height, document.scrollingElement?.scrollHeight ?? 0))
        """
    static let width = "Math.ceil(document.documentElement.getBoundingClientRect().width)"
}
